-- What changed in closed days, and why?
from mart.restatements
order by restatement_no desc
