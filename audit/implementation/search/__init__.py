"""The search of neighbouring tables on which a function breaks its claim: proposed, measured, and tried on releases."""
