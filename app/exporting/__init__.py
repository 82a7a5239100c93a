"""Exports: what is asked for on the command line or in the app, made and put into a file, never over another one."""
