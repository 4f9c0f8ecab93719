// Rules by which Tauri's updater accepts an answer, read strictly. A breach fails only on the user's machine:
// a manifest that is right by the service's own types can still be no update at all.

/** The grammar of the Rust `semver` crate: exactly three numbers, none with a leading zero. */
const STRICT_SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const LARGEST_NUMBER = 2n ** 64n - 1n;

type TauriAnswer = { readonly status: number; readonly text: string };

/**
 * Returns every reason for which Tauri's updater would call this answer an error; empty when it accepts the
 * answer.
 */
export function tauriRefusals({ status, text }: TauriAnswer): string[] {
  if (status === 204) return text === '' ? [] : ['204 with a body'];
  if (status < 200 || status > 299) return [`status ${status}`];
  const body = parseObject(text);
  if (body === undefined) return ['the body is not a JSON object'];
  return [
    isStrictVersion(body.version) ? '' : 'version is not strict semver',
    isAbsoluteUrl(body.url) ? '' : 'url is not absolute',
    // An empty signature passes the check and fails after the download.
    typeof body.signature === 'string' && body.signature !== '' ? '' : 'signature is not set',
    isPublicationDate(body.pub_date) ? '' : 'pub_date is not RFC 3339 with an offset',
    ['string', 'undefined'].includes(typeof body.notes) || body.notes === null
      ? ''
      : 'notes is neither string nor null',
    // `name` is an alias of `version`: both together are a duplicate field.
    'name' in body ? 'name stands beside version' : '',
    // `platforms` is the static form: with it, url and signature are ignored.
    'platforms' in body ? 'platforms is present' : '',
  ].filter((refusal) => refusal !== '');
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function isStrictVersion(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const numbers = STRICT_SEMVER.exec(value.replace(/^v+/, ''))?.slice(1, 4) ?? [];
  return numbers.length === 3 && numbers.every((part) => BigInt(part) <= LARGEST_NUMBER);
}

function isAbsoluteUrl(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value);
}

function isPublicationDate(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return (
    typeof value === 'string' && RFC_3339.test(value) && !Number.isNaN(new Date(value).getTime())
  );
}
