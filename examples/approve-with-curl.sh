#!/usr/bin/env bash
# Starts a run that wants to delete a directory, approves the command, and prints the names of all events.
set -euo pipefail
server=${TALARIA_BASE_URL:-http://127.0.0.1:8642}
key=(-H "Authorization: Bearer ${TALARIA_API_KEY:-none}")

run_id=$(curl -sS "${key[@]}" "$server/v1/runs" -d '{"input": "Please `rm -rf build`"}' | grep -o 'run_[0-9a-f]\{32\}')

until curl -sS "${key[@]}" "$server/v1/runs/$run_id" | grep -q '"status":"waiting_for_approval"'; do sleep 0.2; done
echo "The run waits for you" #=> The run waits for you

curl -sS -o /dev/null "${key[@]}" "$server/v1/runs/$run_id/approval" -d '{"choice": "once"}'

# The stream has every event from the first one, however late you come, and ends with the run.
curl -sSN "${key[@]}" "$server/v1/runs/$run_id/events" | grep -o '"event":"[a-z.]*"' | grep -v delta
#=> "event":"step.completed"
#=> "event":"tool.started"
#=> "event":"approval.request"
#=> "event":"approval.responded"
#=> "event":"tool.completed"
#=> "event":"step.completed"
#=> "event":"run.completed"
