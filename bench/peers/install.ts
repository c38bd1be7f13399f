/** Installs the peers from PyPI; npm installs the others (`npm run peers:install`). */

import { environment } from '../../test/compat/python/environments.ts';
import { installEnvironments } from '../../test/compat/python/install-environments.ts';
import { langgraph } from './installed.ts';

installEnvironments([environment('hermes-agent'), langgraph]);
