// Text chosen by a user: an app's name, a label, a device id. Whatever its direction and
// length, it does not reorder or overflow the text around it.

/** Isolated text; `isCode` displays it as code. */
export function Name({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return (
    <bdi class={isCode ? 'name code' : 'name'} dir="auto">
      {text}
    </bdi>
  );
}
