// Text from a person or a device: an app's name, a label, a device id, an actor. Its direction and length do
// not affect the text around it.

import { consolePath } from '../format/console-path.ts';

/** Isolated text; `isCode` shows it as code. */
export function Name({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return (
    <bdi class={isCode ? 'name code' : 'name'} dir="auto">
      {text}
    </bdi>
  );
}

/** Id of a device, which leads to its page. */
export function DeviceLink({ app, deviceId }: { app: string; deviceId: string }) {
  return (
    <a href={consolePath.device(app, deviceId)}>
      <Name text={deviceId} isCode />
    </a>
  );
}

/** Actor of an audit entry: an account by its e-mail, a plan without its id, others with their kind. */
export function Actor({ text }: { text: string }) {
  if (text.startsWith('plan:')) return <span title={text}>the plan</span>;
  return <Name text={text.replace(/^account:/, '')} />;
}
