import { sampleOrders } from './imports/sample-orders.js';

const count = Number(process.argv[2] ?? 1_000);

process.stdout.write(sampleOrders(count));
