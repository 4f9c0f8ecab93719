// What is said beside every new password.

export const PASSWORD_HINT = 'A few words that only you would put together are best.';
