// A text that somebody chose: an app's name, a label, a device's id. In whichever direction it runs and
// however long it is, it turns and breaks nothing around it.

/** `isCode` for what machines read. */
export function Name({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return (
    <bdi class={isCode ? 'name code' : 'name'} dir="auto">
      {text}
    </bdi>
  );
}
