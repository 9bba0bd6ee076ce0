"""Tables as arrays: encoded cell by cell, and every number placed between 0 and 1, and back."""
