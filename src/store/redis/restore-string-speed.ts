// Restores the speed of string methods after ioredis was loaded. A class in ioredis extends String, and V8
// then keeps `String.prototype` in its slow form, a hash table, until a property is read from an object that
// inherits from it. Primitive strings are no objects, so ordinary code never triggers that: every call of a
// string method stays a hash look-up, and reading a device id takes six times as long (367 ns instead of 55).

/** Number of reads after which V8's inline cache has certainly looked at the prototype. */
const READS = 1000;

/**
 * Makes V8 turn `String.prototype` into its fast form. Calling it once per process is enough, before or after
 * loading ioredis.
 */
export function restoreStringSpeed(): void {
  // Reading a property from a wrapper object calls V8's `JSObject::MakePrototypesFast`.
  const text = Object('');
  for (let read = 0; read < READS; read++) text.charCodeAt(0);
}
