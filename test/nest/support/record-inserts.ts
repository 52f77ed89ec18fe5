/** Keeps in the table `inserted` with which status each job was inserted. */
export const RECORD_INSERTS = `
  create table inserted (id bigint, status text);
  create function record() returns trigger language plpgsql as
    $$ begin insert into public.inserted values (new.id, new.status); return null; end $$;
  create trigger record after insert on pgqueue.job for each row execute function record()`;
