// Text chosen by a user: an app's name, a label, a device id, an actor. Whatever its direction and length,
// it does not reorder or overflow the text around it.

/** Isolated text; `isCode` displays it as code. */
export function Name({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return (
    <bdi class={isCode ? 'name code' : 'name'} dir="auto">
      {text}
    </bdi>
  );
}

// Actor of an audit entry: `account:EMAIL`, `key:…`, `integration:…`, `plan:…` or the admin token.

/** Displays an account by its e-mail address alone, a plan without its id, any other actor with its type. */
export function Actor({ text }: { text: string }) {
  if (text.startsWith('plan:')) return <span title={text}>the plan</span>;
  return <Name text={text.replace(/^account:/, '')} />;
}
