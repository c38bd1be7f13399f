import { describePythonClient } from './describe-python-client.ts';

describePythonClient({
  name: 'pydantic-ai-slim',
  file: 'with_pydantic_ai.py',
  requirements: 'pydantic-ai',
  outputTool: 'final_result',
});
