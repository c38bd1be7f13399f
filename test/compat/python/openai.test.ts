import { describePythonClient } from './describe-python-client.ts';

const openai = { name: 'openai', file: 'with_openai.py' };

// It does not know the responses API.
describePythonClient({ ...openai, requirements: 'openai-1.40', without: /^responses: / });
describePythonClient({ ...openai, requirements: 'openai-1.93' });
describePythonClient({ ...openai, requirements: 'openai' });
