"""One panel a file: each renders one view model and knows no session."""
