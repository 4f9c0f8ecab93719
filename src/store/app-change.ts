// What owners change of an app.

/** Change of an app; undefined leaves it as it is. */
export type AppChange = {
  readonly name?: string | undefined;
  readonly archived?: boolean | undefined;
};
