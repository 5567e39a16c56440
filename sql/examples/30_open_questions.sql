-- What does the interface leave open, and how much depends on it?
from audit.questions
order by rank
