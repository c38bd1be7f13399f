/**
 * Redirections: where input comes from, and what is written. Each target is checked whatever the
 * command is, because the shell opens it before the command starts.
 */
import type { Redirect } from '../parse/syntax.ts';
import type { Host } from '../rules/call.ts';
import { namesMetadata } from '../rules/metadata.ts';
import { readPath, writePath } from '../rules/sensitive-paths.ts';
import { type ExpansionHost, expandFields, expandValue } from './expand.ts';
import { ENV, REMOTE } from './marks.ts';
import type { Input } from './scope.ts';

export interface Redirected {
  input: Input | undefined;
  /** files that receive standard output */
  outputs: string[];
}

const NETWORK = /^\/dev\/(?:tcp|udp)\//;
/** Checking whether a local server is up is common and harmless; a conversation with it is neither. */
const LOOPBACK = /^\/dev\/(?:tcp|udp)\/(?:127\.0\.0\.1|localhost|::1)\//;

export function applyRedirects(
  redirects: Redirect[],
  inherited: Input | undefined,
  host: Host & ExpansionHost,
): Redirected {
  const result: Redirected = { input: inherited, outputs: [] };
  for (const redirect of redirects) {
    const { operator, fd } = redirect;
    if (operator === '<<' || operator === '<<-') {
      here(redirect.body ? expandValue(redirect.body, host) : ENV, fd, result, host);
    } else if (operator === '<<<') {
      here(`${expandValue(redirect.target, host)}\n`, fd, result, host);
    } else {
      for (const path of expandFields(redirect.target, host)) applyPath(operator, fd, path, result, host);
    }
  }
  return result;
}

function here(text: string, fd: string | undefined, result: Redirected, host: Host): void {
  if (fd === undefined || fd === '0') result.input = { text, via: 'heredoc' };
  else host.write(`/dev/fd/${fd}`, text);
}

function applyPath(
  operator: string,
  fd: string | undefined,
  path: string,
  result: Redirected,
  host: Host,
): void {
  if (NETWORK.test(path)) {
    // The connection can be read back as input, which is how a shell is driven from outside.
    result.input = { text: REMOTE, via: 'pipe' };
    if (operator === '<>' || !LOOPBACK.test(path)) host.scope.report('network connection by the shell');
    if (namesMetadata(path)) host.scope.report('cloud metadata address');
    return;
  }
  if (operator.endsWith('&') && /^(?:\d+-?|-)$/.test(path)) {
    const copied = operator === '<&' ? host.read(`/dev/fd/${path}`) : undefined;
    if (copied !== undefined) result.input = { text: copied, via: 'pipe' };
    return;
  }
  if (operator.startsWith('<')) {
    readPath(path, host);
    const text = host.read(path);
    const input: Input = { text: text ?? ENV, via: path.startsWith('/dev/fd/') ? 'process' : 'file' };
    if (fd === undefined || fd === '0') result.input = input;
    else host.write(`/dev/fd/${fd}`, input.text);
  }
  if (operator !== '<') {
    writePath(path, host);
    if (operator === '>' || operator === '>|') host.write(path, '');
    if (fd === undefined || fd === '1') result.outputs.push(path);
  }
}
