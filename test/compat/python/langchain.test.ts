import { describePythonClient } from './describe-python-client.ts';

describePythonClient({
  name: 'langchain-openai',
  file: 'with_langchain.py',
  requirements: 'langchain-openai',
  outputTool: 'Weather',
});
