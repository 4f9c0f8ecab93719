// Part of the form of a new release that takes what somebody pastes.

import { useState } from 'preact/hooks';
import type { PastedRelease } from '../format/pasted-release.ts';
import { TextArea } from '../part/field.tsx';

/** Text area and the button that takes over what was pasted; its code is loaded when it is used. */
export function PasteRelease({ onPasted }: { onPasted: (pasted: PastedRelease) => void }) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  const take = async () => {
    const { readPasted } = await import('../format/pasted-release.ts');
    const pasted = readPasted(text);
    setFault(typeof pasted === 'string' ? pasted : undefined);
    if (typeof pasted === 'string') return;
    setText('');
    onPasted(pasted);
  };
  return (
    <details class="more">
      <summary>Paste addresses or JSON</summary>
      <TextArea
        label="Addresses of the files, one a line, or the release as JSON"
        value={text}
        onInput={setText}
        placeholder="https://…"
        hint="The names of the files tell what they are for. It takes the place of the artifacts below."
      />
      {fault !== undefined && (
        <p class="bad-text" role="alert">
          {fault}
        </p>
      )}
      <button type="button" class="button plain small" onClick={() => void take()}>
        Take it over
      </button>
    </details>
  );
}
