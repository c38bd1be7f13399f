import { describePythonClient } from './describe-python-client.ts';

describePythonClient({
  name: 'instructor',
  file: 'with_instructor.py',
  requirements: 'instructor',
  outputTool: 'Weather',
});
