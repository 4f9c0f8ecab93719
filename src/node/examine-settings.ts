// Examination of the settings for `sluice doctor`: what the service would start with, and nobody should run.

import { type Check, faulty, sound } from '../contract/diagnosis.ts';
import { parseUrl } from '../contract/parse-url.ts';
import { type Config, isLoopback } from '../settings/settings.ts';

const SECRET_LENGTH_MIN = 32;
/** Number of different characters below which a secret was typed, not drawn. */
const SECRET_CHARACTERS_MIN = 8;

/** Examines secrets and proxies. No message quotes a secret. */
export function examineSettings(config: Config): readonly Check[] {
  const { adminTokens, secretKeys } = config;
  const isEmbedded = config.databaseUrl === undefined;
  return [
    secretCheck('admin-token', adminTokens, {
      config,
      none: isEmbedded
        ? 'generated into DATA_DIR at the first start'
        : 'none: no first owner can be created, and the command line cannot be used',
    }),
    secretCheck('secret-key', secretKeys, {
      config,
      none: isEmbedded
        ? 'generated into DATA_DIR at the first start'
        : 'none: webhooks cannot be enabled',
    }),
    proxyCheck(config),
  ];
}

function secretCheck(
  name: string,
  values: readonly string[],
  { config, none }: { readonly config: Config; readonly none: string },
): Check {
  if (values.length === 0) return sound(name, none);
  const isWeak = values.some(
    (value) => value.length < SECRET_LENGTH_MIN || new Set(value).size < SECRET_CHARACTERS_MIN,
  );
  const count = values.length === 1 ? '' : ` (${values.length} values)`;
  if (!isWeak) return sound(name, `long enough${count}`);
  // A short one on loopback is refused by nobody, although a proxy may stand in front.
  return isPublic(config)
    ? faulty(name, `can be guessed${count}: make one with openssl rand -hex 32`)
    : sound(name, `can be guessed${count}, but only this machine reaches the service`);
}

/** Whether something leads here from other machines: the service itself, or a proxy in front of it. */
function isPublic({ host, adminListen, publicUrl, adminUrl, trustProxy }: Config): boolean {
  if (trustProxy > 0) return true;
  const hosts = [host, adminListen?.host, hostOf(publicUrl), hostOf(adminUrl)];
  return hosts.some((each) => each !== undefined && !isLoopback(each));
}

function hostOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : parseUrl(url)?.hostname.replace(/^\[|\]$/g, '');
}

function proxyCheck({ publicUrl, trustProxy }: Config): Check {
  const name = 'proxy';
  if (trustProxy > 0) {
    return sound(name, `TRUST_PROXY=${trustProxy}: as many proxies set X-Forwarded-For`);
  }
  // The service speaks no TLS, so something in front of it does.
  return publicUrl?.startsWith('https:')
    ? faulty(
        name,
        'PUBLIC_URL is https, so there is a proxy, but TRUST_PROXY is 0: all clients have one address, ' +
          'and share its bounds',
      )
    : sound(name, 'none is trusted: clients have the addresses that they connect from');
}
