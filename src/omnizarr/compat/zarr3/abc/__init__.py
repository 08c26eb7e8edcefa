"""The interfaces that authors of stores and codecs implement."""
