module roster.internal/openapi-clients

go 1.26.0

require github.com/GIT_USER_ID/GIT_REPO_ID v0.0.0

replace github.com/GIT_USER_ID/GIT_REPO_ID => ./client

require gopkg.in/validator.v2 v2.0.1
