/**
 * Paths that must not be written, or in the case of credentials not read either, without asking.
 * `writePath` is called for every place a command is known to write: redirections, tee, cp, mv, in-place
 * edits, downloads. `readPath` is called for every other argument.
 */
import { NEVER } from '../families.ts';
import type { Host } from '../host.ts';
import { couldBe, hasGlob } from '../marks.ts';
import { type Place, pathKey, placeOf } from '../paths.ts';
import { writeDevice } from './disk.ts';

const STARTUP_FILES =
  /^\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|login|xinitrc|xprofile|xsession)$/;
// Directories whose files are secrets, wherever the home is.
const SECRET_DIRECTORIES = new Set(['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.password-store']);
const SECRET_FILES =
  /^(?:\.netrc|_netrc|\.pgpass|\.my\.cnf|\.pypirc|\.git-credentials|\.vault-token|\.boto|\.s3cfg|\.htpasswd|\.dockercfg|id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys)$/;
// Public by nature, and read in harmless commands all day.
const PUBLIC_SSH = /^(?:known_hosts\S*|\S+\.pub|config)$/;
const SYSTEM_SECRETS = /^(?:shadow|gshadow|sudoers|sudoers\.d|shadow-|gshadow-)$/;
const SAMPLES = [
  ...'.ssh .gnupg .aws .azure .kube .netrc .pgpass .git-credentials id_rsa id_ed25519'.split(' '),
];

export function writePath(path: string, host: Host): void {
  const { scope } = host;
  writeDevice(path, host);
  const key = pathKey(path, scope.cwd);
  const original = scope.links.get(key);
  if (original !== undefined) {
    scope.links.delete(key); // a link may lead to itself
    writePath(original, host);
  }
  const place = placeOf(path, scope.cwd);
  const [first, second, third] = place.segments;
  const last = place.segments.at(-1) ?? '';
  if (place.base === '/') {
    if (first === 'proc' && second === 'sysrq-trigger') scope.never = NEVER.power;
    const etc = first === 'etc' || (first === 'private' && second === 'etc');
    const kernel = (first === 'proc' && second === 'sys') || first === 'sys' || first === 'boot';
    const units = (first === 'usr' ? third : second) === 'systemd' && place.segments.includes('lib');
    if (etc || kernel || units || (first !== undefined && hasGlob(first) && couldBe(first, 'etc'))) {
      scope.report('overwrite system config');
    }
  }
  if (STARTUP_FILES.test(last) || isFishConfig(place)) scope.report('shell startup file');
  if (isSecret(place, true)) scope.report('credential or SSH path');
}

export function readPath(path: string, host: Host): void {
  if (isSecret(placeOf(path, host.scope.cwd), false)) host.scope.report('credential or SSH path');
}

function isFishConfig({ segments }: Place): boolean {
  return segments.at(-1) === 'config.fish' || (segments.at(-2) === 'conf.d' && segments.at(-3) === 'fish');
}

function isSecret({ base, segments }: Place, writing: boolean): boolean {
  const last = segments.at(-1) ?? '';
  const [first, second, third] = segments;
  if (base === '/' && first === 'etc' && second !== undefined && SYSTEM_SECRETS.test(second)) return true;
  if (base === '/' && first === 'proc' && third === 'environ') return true;
  if (SECRET_FILES.test(last)) return true;
  if (hasGlob(last) && /^\.[a-z]/.test(last) && SAMPLES.some((name) => couldBe(last, name))) return true;
  const at = segments.findIndex((segment) => SECRET_DIRECTORIES.has(segment) || isHiddenGlobOf(segment));
  if (at >= 0) {
    const inside = segments.length > at + 1;
    if (!writing && segments[at] === '.ssh' && inside && PUBLIC_SSH.test(last)) return false;
    if (!writing && segments[at] === '.aws' && last === 'config') return false;
    return true;
  }
  const tail = segments.slice(-3).join('/');
  return (
    /(?:^|\/)\.docker\/config\.json$/.test(tail) ||
    segments.join('/').includes('.local/share/keyrings') ||
    /(?:^|\/)\.config\/(?:gcloud|gh|op|doctl)(?:\/|$)/.test(segments.slice(-4).join('/')) ||
    /(?:^|\/)\.(?:hermes|talaria)\/(?:\.env|auth\.json|credentials\S*)$/.test(tail) ||
    (base === '~' && segments.length === 1 && /^\.(?:npmrc|env)$/.test(last))
  );
}

/** A glob such as `.s?h` that can only be meant for a secret directory. */
function isHiddenGlobOf(segment: string): boolean {
  return segment.startsWith('.') && hasGlob(segment) && segment.length > 2 && couldBe(segment, '.ssh');
}
