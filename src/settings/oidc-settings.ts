// Settings of the sign-in with an OpenID Connect provider, and of the one with passwords.

import { z } from 'zod';
import { parseUrl } from '../contract/address.ts';
import { ROLES, type Role } from '../contract/resource.ts';
import { HTTP_SCHEMES, isLoopback, isUrl } from './address.ts';

export type OidcSettings = Readonly<{
  /** In the provider's own spelling, which its tokens repeat. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Name of the provider on the sign-in button. */
  name: string;
  scopes: string;
  groupsClaim: string | undefined;
  roles: readonly GroupSetting[];
}>;

/** Role that members of a group have in an organization, which is named by id or name. */
type GroupSetting = Readonly<{ group: string; organization: string; role: Role }>;

const NAME_LENGTH_MAX = 60;
const TEXT_LENGTH_MAX = 1024;
const GROUPS_MAX = 200;
const SCOPES = 'openid email profile';

function optionalText() {
  return z
    .string()
    .optional()
    .transform((value) => value || undefined)
    .refine(
      (value) => (value?.length ?? 0) <= TEXT_LENGTH_MAX,
      `must have at most ${TEXT_LENGTH_MAX} characters`,
    );
}

const groupShape = z.strictObject({
  organization: z.string().min(1).max(TEXT_LENGTH_MAX),
  role: z.enum(ROLES),
});
const rolesShape = z.record(z.string().min(1).max(TEXT_LENGTH_MAX), groupShape);

/** Shapes of the variables. */
export const OIDC_ENVIRONMENT = {
  OIDC_ISSUER: optionalText().refine(
    (value) => value === undefined || isIssuer(value),
    'must be the https:// address of a provider, without query and fragment; http:// on loopback only',
  ),
  OIDC_CLIENT_ID: optionalText(),
  OIDC_CLIENT_SECRET: optionalText(),
  OIDC_CLIENT_SECRET_FILE: optionalText(),
  OIDC_NAME: optionalText().refine(
    (value) => (value?.length ?? 0) <= NAME_LENGTH_MAX,
    `must have at most ${NAME_LENGTH_MAX} characters`,
  ),
  OIDC_SCOPES: optionalText().refine(
    (value) => value === undefined || value.split(' ').includes('openid'),
    'must be names with spaces between them, openid among them',
  ),
  OIDC_GROUPS_CLAIM: optionalText(),
  OIDC_ROLES: z
    .string()
    .optional()
    .transform((value, { addIssue }) => readRoles(value || undefined, addIssue)),
  PASSWORD_SIGN_IN: z
    .string()
    .optional()
    .transform((value) => value || 'on')
    .pipe(z.enum(['on', 'off'], { error: 'must be one of on, off' })),
};

type Environment = {
  readonly [Name in keyof typeof OIDC_ENVIRONMENT]: z.output<(typeof OIDC_ENVIRONMENT)[Name]>;
};

/** Variables that are needed as soon as any variable of the provider is set. */
const NEEDED = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;
const OPTIONAL = ['OIDC_NAME', 'OIDC_SCOPES', 'OIDC_GROUPS_CLAIM', 'OIDC_ROLES'] as const;

/** Reads the settings; calls `refuse` with a line that names a missing variable. */
export function readOidc(
  environment: Environment,
  refuse: (line: string) => never,
): { readonly oidc: OidcSettings | undefined; readonly arePasswordsOn: boolean } {
  const arePasswordsOn = environment.PASSWORD_SIGN_IN === 'on';
  const given = [...NEEDED, ...OPTIONAL].find((name) => environment[name] !== undefined);
  if (given === undefined) {
    if (arePasswordsOn) return { oidc: undefined, arePasswordsOn };
    return refuse('PASSWORD_SIGN_IN: off needs OIDC_ISSUER: else people could not sign in at all');
  }
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = environment;
  const { OIDC_CLIENT_SECRET: clientSecret, OIDC_GROUPS_CLAIM: groupsClaim } = environment;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    const missing = NEEDED.filter((name) => environment[name] === undefined);
    return refuse(`${missing[0]}: is missing: ${given} needs ${missing.join(' and ')}`);
  }
  const roles = environment.OIDC_ROLES;
  if (roles !== undefined && groupsClaim === undefined) {
    return refuse(
      'OIDC_GROUPS_CLAIM: is missing: OIDC_ROLES needs the claim that names the groups',
    );
  }
  if (roles === undefined && groupsClaim !== undefined) {
    return refuse('OIDC_ROLES: is missing: OIDC_GROUPS_CLAIM does nothing without it');
  }
  return {
    oidc: Object.freeze({
      issuer,
      clientId,
      clientSecret,
      name: environment.OIDC_NAME ?? new URL(issuer).hostname,
      scopes: environment.OIDC_SCOPES ?? SCOPES,
      groupsClaim,
      roles: roles ?? [],
    }),
    arePasswordsOn,
  };
}

function isIssuer(value: string): boolean {
  if (!isUrl(value, HTTP_SCHEMES) || /[?#]/.test(value)) return false;
  const url = parseUrl(value);
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
}

function readRoles(
  text: string | undefined,
  addIssue: (reason: string) => void,
): readonly GroupSetting[] | undefined {
  if (text === undefined) return undefined;
  const parsed = rolesShape.safeParse(parseJson(text));
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join('.') ?? '';
    const place = path === '' ? '' : ` (at ${path})`;
    addIssue(`must be JSON of the form {"group":{"organization":"id","role":"viewer"}}${place}`);
    return undefined;
  }
  const rules = Object.entries(parsed.data);
  if (rules.length > GROUPS_MAX) addIssue(`must name at most ${GROUPS_MAX} groups`);
  return rules.map(([group, { organization, role }]) => ({ group, organization, role }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
