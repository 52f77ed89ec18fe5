import { repl } from '@nestjs/core';
import { AppModule } from './app.module.js';

void repl(AppModule);
