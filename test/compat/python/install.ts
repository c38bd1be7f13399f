/**
 * Installs the Python clients: part of `npm run compat:install`. To move to newer versions, in `requirements`:
 *
 *   for file in *.in; do uv pip compile --upgrade --python-version 3.11 --no-header --no-annotate $file -o ${file%.in}.txt; done
 */
import { environments } from './environments.ts';
import { installEnvironments } from './install-environments.ts';

installEnvironments(environments());
