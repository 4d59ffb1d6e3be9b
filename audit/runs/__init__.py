"""an audit in words: one, many (plan), recorded scores, replay."""
