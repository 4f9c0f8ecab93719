// Undoes what loading ioredis does to every string of the process. A class of it extends String, and V8 keeps
// the prototype of a derived class in its slow form, a hash table, until a property is read from an object
// that inherits from it. Strings are no objects, so nothing that a service does ever causes that: each call
// of a string's method stays a look-up that no compiled code can leave out, and reading a device's id takes
// six times as long.

/** V8 pays attention to a place in the code only once it has run a few times. */
const READS = 1000;

/** Once is enough, before or after ioredis is loaded: V8 remembers which prototypes are to be quick. */
export function quickenStrings(): void {
  // What reading from an object does to its prototypes: `JSObject::MakePrototypesFast` in V8.
  const text = Object('');
  for (let read = 0; read < READS; read++) text.charCodeAt(0);
}
