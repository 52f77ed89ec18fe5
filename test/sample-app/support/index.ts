export { type Command, runCommand } from './command.js';
export { createGround, type Ground } from './ground.js';
export { startMailServer, type MailServer } from './mail-server.js';
export { createOutbox, type Outbox } from './outbox.js';
export { openShop, type Shop } from './shop.js';
export { untilAllJobsEnded } from './until-all-jobs-ended.js';
