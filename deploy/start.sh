#!/bin/sh
# Secrets come as files. Two of them are read from the environment: by dialens and by PostgreSQL's client.
set -eu
if [ -f /run/secrets/study_key ]; then
    DIALENS_STUDY_KEY=$(cat /run/secrets/study_key)
    export DIALENS_STUDY_KEY
fi
if [ -f /run/secrets/database_password ]; then
    PGPASSWORD=$(cat /run/secrets/database_password)
    export PGPASSWORD
fi
exec dialens "$@"
