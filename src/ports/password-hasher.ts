// What keeps passwords: a slow, salted hash. Each call costs memory and time by design, so callers bound how
// many run at once.

export interface PasswordHasher {
  /** A hash that carries its own parameters and salt. */
  hash(password: string): Promise<string>;

  /** Whether the hash is one of this password. Takes as long for a wrong one as for the right one. */
  verify(hash: string, password: string): Promise<boolean>;
}
