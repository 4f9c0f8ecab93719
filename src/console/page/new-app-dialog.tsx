// Dialog that creates an app.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { call } from '../api/call.ts';
import { consolePath } from '../format/console-path.ts';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';

/** Dialog for a new app; opens the app after it was created. */
export function NewAppDialog(props: { organizationId: string; onClose: () => void }) {
  const { organizationId, onClose } = props;
  const { route } = useLocation();
  const [name, setName] = useState('');
  const [ownRef, setOwnRef] = useState<string>();
  const [channels, setChannels] = useState('stable, beta');
  const ref = ownRef ?? refFrom(name);
  const create = async () => {
    const names = channels.split(/[\s,]+/).filter((channel) => channel !== '');
    await call('POST', 'apps', { org: organizationId, ref, name, channels: names });
    route(consolePath.app(ref));
  };
  return (
    <Dialog title="Create an app" onClose={onClose}>
      <Form send="Create app" onSend={create} onCancel={onClose}>
        <Field name="name" label="Name" value={name} onInput={setName} isRequired isFocused />
        <Field
          name="ref"
          label="Ref"
          value={ref}
          onInput={setOwnRef}
          hint="Part of the address devices ask. It cannot be changed later."
          isRequired
          isCode
        />
        <Field
          name="channels"
          label="Channels"
          value={channels}
          onInput={setChannels}
          hint="Separated by commas; more can be added later."
          isRequired
          isCode
        />
      </Form>
    </Dialog>
  );
}

/** Suggests a ref: the characters of the name that a ref may contain. */
function refFrom(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64);
}
