"""The parts of the peer benchmark, one file each."""
