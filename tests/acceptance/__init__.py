"""What the library promises, shown from outside through its public interface."""
