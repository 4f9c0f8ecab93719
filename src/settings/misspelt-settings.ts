// Finds environment variables that look like a misspelt setting, which would be ignored silently: the service
// would start with another database, or without its token.

/** Environment variable, and the setting that its name is close to. */
export type NearSetting = { readonly name: string; readonly setting: string };

/** Maximum number of variables that are listed. */
const NAMED_MAX = 20;
const PREFIX = 'SLUICE_';
/** Variables of OpenTelemetry, which its libraries read. */
const TRACING_PREFIX = 'OTEL_';
/** Kubernetes sets `<SERVICE>_PORT` to such a URL in every pod beside a service of that name. */
const KUBERNETES_PORT = /^tcp:\/\//;

/** Names of the settings in other programs. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  HOST: ['LISTEN_HOST', 'LISTEN_ADDRESS', 'BIND_ADDRESS', 'BIND'],
  PORT: ['LISTEN_PORT', 'HTTP_PORT'],
  DATABASE_URL: [
    ...['DATABASE_URI', 'DATABASE_DSN', 'DB_URL', 'DB_URI', 'PG_URL', 'PG_URI'],
    ...['POSTGRES_URL', 'POSTGRES_URI', 'POSTGRES_DSN', 'POSTGRESQL_URL', 'POSTGRESQL_URI'],
  ],
  DATABASE_POOL: [
    ...['DATABASE_POOL_SIZE', 'DATABASE_POOL_MAX', 'DATABASE_CONNECTIONS'],
    ...['DB_POOL', 'DB_POOL_SIZE', 'PG_POOL', 'PG_POOL_SIZE', 'PG_POOL_MAX', 'POSTGRES_POOL_SIZE'],
  ],
  REDIS_URL: ['REDIS_URI', 'REDIS_DSN', 'REDIS_ADDR', 'REDIS_ADDRESS', 'REDIS_HOST'],
  DATA_DIR: ['DATA_DIRECTORY', 'DATA_PATH'],
  ADMIN_TOKEN: ['ADMIN_SECRET', 'ADMIN_KEY', 'ADMIN_PASSWORD'],
  SECRET_KEY: ['SECRET', 'SECRET_TOKEN', 'ENCRYPTION_KEY'],
  PUBLIC_URL: ['PUBLIC_URI', 'PUBLIC_ADDRESS', 'BASE_URL', 'BASE_URI'],
  ADMIN_URL: ['ADMIN_URI'],
  TRUST_PROXY: ['TRUST_PROXIES', 'TRUSTED_PROXIES'],
};

/**
 * Returns the variables whose names are close to one of `settings`: the same letters in another spelling,
 * with `SLUICE_` in front, another common name, or one or two letters that differ. Their values stay out.
 */
export function nearSettings(
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): readonly NearSetting[] {
  const known = new Set(settings);
  return Object.entries(environment)
    .filter(([name, value]) => value && !known.has(name) && !name.startsWith(TRACING_PREFIX))
    .flatMap(([name, value = '']) => {
      const setting = meantBy(name, value, settings);
      return setting === undefined ? [] : [{ name, setting }];
    })
    .slice(0, NAMED_MAX);
}

function meantBy(name: string, value: string, settings: readonly string[]): string | undefined {
  const isPrefixed = name.toUpperCase().startsWith(PREFIX);
  if (isPrefixed && KUBERNETES_PORT.test(value)) return undefined;
  const letters = lettersOf(isPrefixed ? name.slice(PREFIX.length) : name);
  const isMeant = (setting: string) =>
    letters === lettersOf(setting) ||
    OTHER_NAMES[setting]?.some((other) => letters === lettersOf(other)) === true ||
    isMisspelt(letters, lettersOf(setting));
  return settings.find(isMeant);
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, '');
}

/** Returns whether one letter of 6 or more differs, or two of 9 or more; shorter names are words. */
function isMisspelt(letters: string, setting: string): boolean {
  if (setting.length < 6) return false;
  const distanceMax = setting.length < 9 ? 1 : 2;
  if (Math.abs(letters.length - setting.length) > distanceMax) return false;
  return editDistance(letters, setting) <= distanceMax;
}

/** Counts the letters to add, remove, replace or swap with their neighbour to make the texts equal. */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const isSame = left[i - 1] === right[j - 1];
      const replaced = (row[j - 1] ?? 0) + (isSame ? 0 : 1);
      let least = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      const isSwapped = i > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (isSwapped) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[right.length] ?? 0;
}
