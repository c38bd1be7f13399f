/**
 * How a repository is cloned inside the sandbox.
 *
 * - Git can be told to run programs in many ways: by hooks, filters, credential helpers, templates, ssh, and by protocols
 *   such as `ext::`. None of its configuration files is read here, and only http and https are allowed, also for redirects.
 * - Submodules are not fetched: their URLs come from the repository and not from the client.
 * - Values reach the command as variables, and never as a part of its text. Behind `--` none of them is an option.
 * - Git asks for the credentials of the URL when their server asks git for them. A header would also go to the server of a
 *   redirect. They are not stored in the clone, so no later command finds them.
 */
import type { WorkspaceGit } from '@talaria/protocol';

export interface CloneCommand {
  command: string;
  env: Record<string, string>;
  /** Texts that must not be shown: the credentials, in all their forms. */
  secrets: string[];
}

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

const CHECK = `command -v git >/dev/null || { echo 'git is not installed in the sandbox' >&2; exit 127; }`;
const OPTIONS = '--quiet --template= --no-recurse-submodules';
const CLONE = `git clone ${OPTIONS} \${DEPTH:+--depth "$DEPTH"} \${REF:+--branch "$REF"} -- "$URL" "$DIR"`;
/** `clone` takes names only. A server that gives out single commits spares the rest of the history. */
const CLONE_COMMIT = [
  'git init --quiet --template= -- "$DIR"',
  'cd -- "$DIR"',
  'git remote add origin "$URL"',
  `git fetch --quiet --no-recurse-submodules \${DEPTH:+--depth "$DEPTH"} origin "$REF" ||
    git fetch --quiet --no-recurse-submodules --tags origin`,
  'git checkout --quiet --detach "$REF"',
].join('\n');

const TELL_CREDENTIALS = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$GIT_USER" "$GIT_PASSWORD"; }; f`;

/** Git takes these from the environment, for itself and for the programs it starts. */
const CONFIG = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  // An empty one forgets those before it.
  'credential.helper': '',
  'submodule.recurse': 'false',
  'protocol.allow': 'never',
  'protocol.http.allow': 'always',
  'protocol.https.allow': 'always',
  'advice.detachedHead': 'false',
};

export function cloneCommand({ path, url, ref, depth }: WorkspaceGit): CloneCommand {
  const [given, target] = [new URL(url), new URL(url)];
  const [user, password] = [decode(target.username), decode(target.password)];
  const hasCredentials = user !== '' || password !== '';
  target.username = '';
  target.password = '';
  const config = Object.entries({
    ...CONFIG,
    ...(hasCredentials ? { [`credential.${target.origin}.helper`]: TELL_CREDENTIALS } : {}),
  });
  const isCommit = ref !== undefined && COMMIT.test(ref);
  return {
    command: ['set -e', CHECK, isCommit ? CLONE_COMMIT : CLONE].join('\n'),
    env: {
      URL: target.href,
      // A name that begins with a dash is no option behind `--`, but it would be one for `cd`.
      DIR: `./${path}`,
      REF: ref ?? '',
      DEPTH: depth === undefined ? '' : String(depth),
      LC_ALL: 'C',
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_ALLOW_PROTOCOL: 'http:https',
      GIT_TERMINAL_PROMPT: '0',
      GIT_SSH_COMMAND: '/bin/false',
      ...(hasCredentials ? { GIT_USER: user, GIT_PASSWORD: password } : {}),
      GIT_CONFIG_COUNT: String(config.length),
      ...Object.fromEntries(
        config.flatMap(([key, value], i) => [
          [`GIT_CONFIG_KEY_${i}`, key],
          [`GIT_CONFIG_VALUE_${i}`, value],
        ]),
      ),
    },
    secrets: [user, password, given.username, given.password, given.href].filter(
      (text) => hasCredentials && text !== '',
    ),
  };
}

/** Returns a text that cannot be decoded as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
