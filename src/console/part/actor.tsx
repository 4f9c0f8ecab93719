// Actor of an audit entry: `account:EMAIL`, `key:…`, `integration:…`, `plan:…` or the admin token.

import { Name } from './name.tsx';

/** Displays an account by its e-mail address alone, a plan without its id, any other actor with its type. */
export function Actor({ text }: { text: string }) {
  if (text.startsWith('plan:')) return <span title={text}>the plan</span>;
  return <Name text={text.replace(/^account:/, '')} />;
}
