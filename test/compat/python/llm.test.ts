import { describePythonClient } from './describe-python-client.ts';

describePythonClient({ name: 'llm', file: 'with_llm.py', requirements: 'llm' });
