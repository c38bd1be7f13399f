import { describePythonClient } from './describe-python-client.ts';

describePythonClient({ name: 'openai-agents', file: 'with_openai_agents.py', requirements: 'openai-agents' });
