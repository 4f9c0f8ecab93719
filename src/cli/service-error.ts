// What went wrong with a command, in one line for the person at the terminal.

export class ServiceError extends Error {}
