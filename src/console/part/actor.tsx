// Actor of an audit entry: `account:EMAIL`, `key:…`, `integration:…` or the admin token.

import { Name } from './name.tsx';

/** Displays an account by its e-mail address alone, any other actor with its type. */
export function Actor({ text }: { text: string }) {
  return <Name text={text.replace(/^account:/, '')} />;
}
