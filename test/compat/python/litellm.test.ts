import { describePythonClient } from './describe-python-client.ts';

describePythonClient({ name: 'litellm', file: 'with_litellm.py', requirements: 'litellm' });
