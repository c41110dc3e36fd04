"""The parts of the weekly export: what is exported, how it is read, and the files it becomes."""
