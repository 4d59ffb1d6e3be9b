"""Many audits of one plan: what is asked, what came out, and the packet for those who decide."""
