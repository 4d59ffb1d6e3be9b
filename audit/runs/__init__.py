"""An audit from a request in words to a report: one, many in a plan, recorded scores, a replay."""
