// Whether the service can be reached: noticed with every request, so that one notice says it for the whole
// page, and what failed for want of a connection is put right once there is one.

type Listener = () => void;

let outage: string | undefined;
const listeners = new Set<Listener>();

export const connection = {
  /** Returns the sentence for the present outage; undefined while the service answers. */
  outage: (): string | undefined => outage,

  /** Notes that the service answered, or why it did not. */
  note(reason: string | undefined): void {
    if (outage === reason) return;
    outage = reason;
    for (const listener of listeners) listener();
  },

  /** Calls the listener when an outage begins, changes or ends, until the returned function is called. */
  onChange(listener: Listener): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  /** Calls the listener when an outage ends, until the returned function is called. */
  onRecovery(listener: Listener): () => void {
    return connection.onChange(() => {
      if (outage === undefined) listener();
    });
  },
};
