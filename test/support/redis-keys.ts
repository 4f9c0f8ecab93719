// Names of keys and pub/sub channels in Redis, as a service with default settings uses them.

import { createKeys } from '../../src/engine/redis/keys.ts';

export const keys = createKeys({ prefix: 'sluice', database: 0 });
