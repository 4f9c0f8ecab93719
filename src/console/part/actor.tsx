// Who did something, as the audit has it: `account:EMAIL`, `key:…`, `webhook:…` or the admin token.

import { Name } from './name.tsx';

/** A person by their address alone; everything else says what it is. */
export function Actor({ text }: { text: string }) {
  return <Name text={text.replace(/^account:/, '')} />;
}
