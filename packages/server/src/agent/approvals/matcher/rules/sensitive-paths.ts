/**
 * Paths that must not be written, or in the case of credentials not read either, without asking.
 * `writePath` is called for every place a command is known to write: redirections, tee, cp, mv, in-place
 * edits, downloads. `readPath` is called for every other argument.
 */
import { NEVER } from '../families.ts';
import { couldBe, hasGlob } from '../walk/marks.ts';
import type { Host } from './call.ts';
import { deviceAt, type Place, systemPlaceOf } from './paths.ts';

const STARTUP_FILES =
  /^\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|login|xinitrc|xprofile|xsession)$/;
// Directories whose files are secrets, wherever the home is.
const SECRET_DIRECTORIES = new Set(['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.password-store']);
const SECRET_FILES =
  /^(?:\.netrc|_netrc|\.pgpass|\.my\.cnf|\.pypirc|\.git-credentials|\.vault-token|\.boto|\.s3cfg|\.htpasswd|\.dockercfg|id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys)$/;
// Not secret, and harmless commands read them all the time.
const PUBLIC_SSH = /^(?:known_hosts\S*|\S+\.pub|config)$/;
const SYSTEM_SECRETS = /^(?:shadow|gshadow|sudoers|sudoers\.d|shadow-|gshadow-)$/;
const SAMPLES = [
  ...'.ssh .gnupg .aws .azure .kube .netrc .pgpass .git-credentials id_rsa id_ed25519'.split(' '),
];

/** Where a sandbox has its workspace and its own files; a home has rules of its own. */
const OWN =
  /^(?:workspace|workspaces|tmp|dev|home|Users|root|proc|private|mnt|app|src|code|project|repo|data|work|build|out|w)$/;

/** Below the root, in no place that is the sandbox's own. */
export function isOutside(path: string, cwd: string | undefined): boolean {
  const { base, segments } = systemPlaceOf(path, cwd);
  return base === '/' && !OWN.test(segments[0] ?? '');
}

export function writePath(path: string, host: Host): void {
  const { scope } = host;
  const device = deviceAt(path, scope.cwd);
  if (device === 'disk') scope.never = NEVER.disk;
  else if (device === 'virtual') scope.report('write to block device');
  const place = systemPlaceOf(path, scope.cwd);
  const [first, second, third] = place.segments;
  const last = place.segments.at(-1) ?? '';
  if (place.base === '/') {
    if (first === 'proc' && second === 'sysrq-trigger') scope.never = NEVER.power;
    const etc = first === 'etc' || (first === 'private' && second === 'etc');
    const kernel = (first === 'proc' && second === 'sys') || first === 'sys' || first === 'boot';
    const units = (first === 'usr' ? third : second) === 'systemd' && place.segments.includes('lib');
    if (etc || kernel || units || (first !== undefined && hasGlob(first) && couldBe(first, 'etc'))) {
      scope.report('overwrite system config');
    } else if (isOutside(path, scope.cwd)) {
      scope.report('write outside the workspace');
    }
  }
  if (first !== undefined && scope.systemLinks.has(first)) scope.report('overwrite system config');
  if (STARTUP_FILES.test(last) || isFishConfig(place)) scope.report('shell startup file');
  if (isHook(place)) scope.report('program or code as an argument');
  if (isSecret(place, true)) scope.report('credential or SSH path');
}

export function readPath(path: string, host: Host): void {
  if (isSecret(systemPlaceOf(path, host.scope.cwd), false)) host.scope.report('credential or SSH path');
}

/** Files that git runs, or that tell it what to run. */
function isHook({ segments }: Place): boolean {
  const at = segments.lastIndexOf('.git');
  return (at >= 0 && /^(?:hooks|config)$/.test(segments[at + 1] ?? '')) || segments.at(-1) === '.gitconfig';
}

function isFishConfig({ segments }: Place): boolean {
  return (
    segments.at(-1) === 'config.fish' ||
    segments.includes('autostart') ||
    (segments.at(-2) === 'conf.d' && segments.at(-3) === 'fish')
  );
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
